from .fitting import FittedMeshes as FittedMeshes
from .fitting import fit_meshes as fit_meshes
from .kept_meshes import KeptMeshes as KeptMeshes
from .kept_meshes import find_meshes as find_meshes
from .kept_meshes import keep_meshes as keep_meshes
from .kept_meshes import load_meshes as load_meshes
