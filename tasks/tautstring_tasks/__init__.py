"""Vision tasks with total variation layers.

The modules here are the frame: training, studies, reports and commands, written once for all tasks.
Each task is a package in this folder; its class derived from `Task` says what is its own.
"""
