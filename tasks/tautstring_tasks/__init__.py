"""The vision tasks of the paper, trained and evaluated with tautstring's layers.

Each task is a package of its own (`denoise`); what they share is here and small: `training`
(the loop), `checkpoints` (files that a killed run resumes from), `runs` (what is written down
about a run), `images` (folders of images), `paired` (differences with their confidence).
"""
