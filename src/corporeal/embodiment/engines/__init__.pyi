from .mujoco_model import import_mujoco as import_mujoco
from .mujoco_model import to_mjcf as to_mjcf
from .pinocchio_model import PinocchioModel as PinocchioModel
from .pinocchio_model import compile_pinocchio as compile_pinocchio
from .pinocchio_model import geometry_model as geometry_model
from .pinocchio_model import import_pinocchio as import_pinocchio
