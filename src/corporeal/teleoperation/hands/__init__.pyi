from . import hand_track as hand_track
from .hands_episode import write_episode as write_episode
from .hands_to_robot import REACHED_M as REACHED_M
from .hands_to_robot import HandsMotion as HandsMotion
from .hands_to_robot import follow_hands as follow_hands
