"""What kernels answer: 0 where all went well; of several answers the largest counts."""

OK = 0
WRONG_SHAPE = 1
NOT_FINITE = 2
SINGULAR = 3
OPEN = 4  # a chain does not close, or a leg does not reach
BEYOND = 5  # the pose is in another assembly mode, beyond a singularity
TOO_LARGE = 6  # an angle is too large for SIMD
