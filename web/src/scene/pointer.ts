// Which link the pointer is on; asked at most once per picture, and never while one turns the view.
import { Raycaster, Vector2 } from "three";
import type { SceneModel } from "./scene_model";
import type { Stage } from "./stage";

export interface Hover {
  link: string;
  x: number;
  y: number;
}

export class Pointer {
  private readonly ray = new Raycaster();
  private readonly at = new Vector2();
  private frame = 0;
  private last: PointerEvent | null = null;
  private down: { x: number; y: number } | null = null;

  constructor(
    private readonly stage: Stage,
    private readonly show: SceneModel,
    private readonly onHover: (hover: Hover | null) => void,
    private readonly onPick: (link: string) => void,
  ) {
    const { canvas } = stage;
    canvas.addEventListener("pointermove", this.move);
    canvas.addEventListener("pointerleave", this.leave);
    canvas.addEventListener("pointerdown", this.press);
    canvas.addEventListener("pointerup", this.release);
  }

  dispose(): void {
    const { canvas } = this.stage;
    cancelAnimationFrame(this.frame);
    canvas.removeEventListener("pointermove", this.move);
    canvas.removeEventListener("pointerleave", this.leave);
    canvas.removeEventListener("pointerdown", this.press);
    canvas.removeEventListener("pointerup", this.release);
  }

  private linkAt(event: PointerEvent): string | null {
    const box = this.stage.canvas.getBoundingClientRect();
    this.at.set(
      ((event.clientX - box.left) / box.width) * 2 - 1,
      1 - ((event.clientY - box.top) / box.height) * 2,
    );
    this.ray.setFromCamera(this.at, this.stage.camera);
    return this.ray.intersectObjects(this.show.targets, false)[0]?.object.name ?? null;
  }

  private move = (event: PointerEvent): void => {
    if (event.buttons || event.pointerType === "touch") return;
    this.last = event;
    this.frame ||= requestAnimationFrame(this.look);
  };

  private look = (): void => {
    this.frame = 0;
    const link = this.last && this.linkAt(this.last);
    this.show.choose(link);
    const box = this.stage.canvas.getBoundingClientRect();
    const at = this.last && { x: this.last.clientX - box.left, y: this.last.clientY - box.top };
    this.onHover(link && at ? { link, ...at } : null);
  };

  private leave = (): void => {
    this.last = null;
    this.look();
  };

  private press = (event: PointerEvent): void => {
    this.down = { x: event.clientX, y: event.clientY };
  };

  private release = (event: PointerEvent): void => {
    const begun = this.down;
    this.down = null;
    // A click, not the end of a turn of the view.
    if (!begun || Math.hypot(event.clientX - begun.x, event.clientY - begun.y) > 4) return;
    const link = this.linkAt(event);
    if (link) this.onPick(link);
  };
}
