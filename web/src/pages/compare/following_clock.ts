import { mapTime } from "../../api/comparison";
import { Clock } from "../../player/clock";

export interface Moments {
  time_a: number[];
  time_b: number[];
}

/** Both clocks are the same. */
export const SAME: Moments = { time_a: [0], time_b: [0] };

/** The clock of one episode beside others: it shows what belongs to the common clock, and moves it. */
export class FollowingClock extends Clock {
  private moments: Moments = SAME;
  private readonly watchers = new Set<() => void>();
  private stops: (() => void)[] = [];

  constructor(
    private leader: Clock,
    startNs: number,
    endNs: number,
  ) {
    super(startNs, endNs);
    this.listen();
  }

  /** Follow by these moments: `time_a` is that of the leader, who may be another from now on. */
  align(moments: Moments, leader: Clock = this.leader): void {
    this.moments = moments;
    if (leader !== this.leader) {
      this.leader = leader;
      this.listen();
    }
    this.follow();
  }

  override get isPlaying(): boolean {
    return this.leader.isPlaying;
  }

  override get rate(): number {
    return this.leader.rate;
  }

  override subscribeState = (listener: () => void): (() => void) => {
    this.watchers.add(listener);
    return () => this.watchers.delete(listener);
  };

  override seek(timeNs: number): void {
    this.leader.seek(this.toLeader(timeNs));
  }

  /** The leader steps by the frames of this episode. */
  override setSteps(stamps: ArrayLike<number>, name = ""): void {
    super.setSteps(stamps, name);
    this.giveSteps();
  }

  override play(): void {
    this.leader.play();
  }

  override pause(): void {
    this.leader.pause();
  }

  override toggle(): void {
    this.leader.toggle();
  }

  override setRate(rate: number): void {
    this.leader.setRate(rate);
  }

  override step(count: number): void {
    this.leader.step(count);
  }

  override close(): void {
    for (const stop of this.stops) stop();
    this.stops = [];
  }

  toLeader(timeNs: number): number {
    return mapTime(this.moments.time_b, this.moments.time_a, timeNs);
  }

  private giveSteps(): void {
    if (this.stepTimes.length)
      this.leader.setSteps(
        Float64Array.from(this.stepTimes, (each) => this.toLeader(each)),
        this.stepName,
      );
  }

  private listen(): void {
    this.close();
    this.stops = [
      this.leader.subscribe(() => this.follow()),
      this.leader.subscribeState(() => this.tellWatchers()),
    ];
    this.giveSteps();
    this.tellWatchers();
  }

  private tellWatchers(): void {
    for (const watcher of this.watchers) watcher();
  }

  private follow(): void {
    super.seek(mapTime(this.moments.time_a, this.moments.time_b, this.leader.timeNs));
  }
}
