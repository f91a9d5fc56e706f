"""Colour image denoising: DnCNN, and DnCNN with TV layers at its input and output."""
