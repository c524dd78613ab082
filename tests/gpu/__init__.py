"""What must hold on a CUDA machine: `make test-gpu`, with torch and Triton and nothing else."""
