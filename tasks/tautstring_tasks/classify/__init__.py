"""Classification: AllConv on CIFAR-10, and its robustness on CIFAR-10-C."""
