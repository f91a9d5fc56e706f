"""Edge-preserving smoothing: ResNetTV and exact total variation on BenchmarkEPS."""
