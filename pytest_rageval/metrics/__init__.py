"""What is measured. A module of this folder that defines METRICS adds metrics."""
