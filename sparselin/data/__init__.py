"""What a `Problem` is made of: its columns, what stands for them, and bounds on its rounding errors."""
