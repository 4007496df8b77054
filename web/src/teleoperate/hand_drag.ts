// The pointer takes hold of a hand in the 3-D view: it follows for as long as it is held.
import { Vector3 } from "three";
import { SIDES, type Side } from "./input";
import type { RobotScene } from "./robot_scene";
import type { VirtualHands } from "./virtual_hands";

const reachPx = { mouse: 30, touch: 48 };
const depthPerNotch = 0.0004;
const turnPerPx = 0.008;

export class HandDrag {
  private held: { side: Side; pointer: number; x: number; y: number } | null = null;

  constructor(
    private readonly scene: RobotScene,
    private readonly hands: VirtualHands,
  ) {
    const { canvas } = scene.stage;
    // A finger that drags a hand must not scroll the page.
    canvas.style.touchAction = "none";
    canvas.addEventListener("pointerdown", this.press, true);
    canvas.addEventListener("pointermove", this.move, true);
    canvas.addEventListener("pointerup", this.release, true);
    canvas.addEventListener("pointercancel", this.release, true);
    canvas.addEventListener("lostpointercapture", this.release, true);
    canvas.addEventListener("wheel", this.wheel, { capture: true, passive: false });
  }

  close(): void {
    const { canvas } = this.scene.stage;
    this.letGo();
    canvas.removeEventListener("pointerdown", this.press, true);
    canvas.removeEventListener("pointermove", this.move, true);
    canvas.removeEventListener("pointerup", this.release, true);
    canvas.removeEventListener("pointercancel", this.release, true);
    canvas.removeEventListener("lostpointercapture", this.release, true);
    canvas.removeEventListener("wheel", this.wheel, true);
  }

  /** Where a hand's handle is in the canvas, px; null where it is not in the picture. */
  screenOf(side: Side): { x: number; y: number } | null {
    const { stage } = this.scene;
    const at = this.scene.handle(side)?.project(stage.camera);
    if (!at || at.z > 1) return null;
    const { clientWidth: width, clientHeight: height } = stage.canvas;
    return { x: ((at.x + 1) / 2) * width, y: ((1 - at.y) / 2) * height };
  }

  private sideAt(event: MouseEvent, within: number): Side | null {
    const box = this.scene.stage.canvas.getBoundingClientRect();
    let best: Side | null = null;
    let nearest = within;
    for (const side of SIDES) {
      const at = this.screenOf(side);
      if (!at) continue;
      const far = Math.hypot(event.clientX - box.left - at.x, event.clientY - box.top - at.y);
      if (far < nearest) [best, nearest] = [side, far];
    }
    return best;
  }

  private press = (event: PointerEvent): void => {
    if (event.button !== 0 || this.held) return;
    const side = this.sideAt(event, event.pointerType === "touch" ? reachPx.touch : reachPx.mouse);
    if (!side) return;
    event.stopImmediatePropagation();
    this.scene.stage.controls.enabled = false;
    this.scene.stage.canvas.setPointerCapture(event.pointerId);
    this.held = { side, pointer: event.pointerId, x: event.clientX, y: event.clientY };
    this.hands.choose(side);
    this.hands.hold("pointer", side);
  };

  private move = (event: PointerEvent): void => {
    const { held, scene } = this;
    const { canvas } = scene.stage;
    if (!held) {
      canvas.style.cursor = this.sideAt(event, reachPx.mouse) ? "grab" : "";
      return;
    }
    if (event.pointerId !== held.pointer) return;
    event.stopImmediatePropagation();
    canvas.style.cursor = "grabbing";
    const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
    [held.x, held.y] = [event.clientX, event.clientY];
    const hand = this.hands[held.side];
    const right = new Vector3().setFromMatrixColumn(scene.stage.camera.matrixWorld, 0);
    const up = new Vector3().setFromMatrixColumn(scene.stage.camera.matrixWorld, 1);
    if (event.shiftKey) {
      const turn = up.multiplyScalar(dx * turnPerPx).addScaledVector(right, dy * turnPerPx);
      hand.turn(scene.toRoom(turn));
    } else {
      const size = this.metresPerPx(held.side);
      hand.move(scene.toRoom(right.multiplyScalar(dx * size).addScaledVector(up, -dy * size)));
    }
  };

  private metresPerPx(side: Side): number {
    const { camera, canvas } = this.scene.stage;
    const at = this.scene.handle(side);
    if (!at) return 0;
    const ahead = camera.getWorldDirection(new Vector3());
    const depth = at.sub(camera.position).dot(ahead);
    return (2 * depth * Math.tan((camera.fov * Math.PI) / 360)) / canvas.clientHeight;
  }

  private release = (event: PointerEvent): void => {
    if (event.pointerId === this.held?.pointer) this.letGo();
  };

  private letGo(): void {
    if (!this.held) return;
    this.held = null;
    this.scene.stage.controls.enabled = true;
    this.scene.stage.canvas.style.cursor = "";
    this.hands.letGo("pointer");
  }

  /** While a hand is held, the wheel takes it away from the eye or nearer; with Shift it rolls. */
  private wheel = (event: WheelEvent): void => {
    if (!this.held) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const ahead = this.scene.toRoom(this.scene.stage.camera.getWorldDirection(new Vector3()));
    const hand = this.hands[this.held.side];
    const by = event.deltaY || event.deltaX;
    if (event.shiftKey) hand.turn(ahead.multiplyScalar(by * 0.002));
    else hand.move(ahead.multiplyScalar(-by * depthPerNotch));
  };
}
