"""The vision tasks of the paper, trained and evaluated with tautstring's layers.

Each task is a package of its own (`denoise`). The code they share is small: `training` (the
loop), `checkpoints` (files from which a killed run resumes), `runs` (the record of a run),
`images` (folders of images), `paired` (differences with confidence intervals).
"""
