from . import hand_layout as hand_layout
from . import hand_track as hand_track
from . import mediapipe_results as mediapipe_results
from .hands_episode import write_episode as write_episode
from .hands_to_robot import REACHED_M as REACHED_M
from .hands_to_robot import HandsMotion as HandsMotion
from .hands_to_robot import follow_hands as follow_hands
