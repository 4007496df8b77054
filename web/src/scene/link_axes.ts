// The axes of every link and named frame: x red, y green, z blue, as everywhere in robotics.
import { AxesHelper } from "three";
import type { Figure } from "./figure";
import { placement } from "./shapes";

const linkM = 0.06;
const frameM = 0.09;

export class LinkAxes {
  private readonly axes: AxesHelper[] = [];

  constructor(figure: Figure) {
    for (const node of figure.links.values()) {
      const axes = new AxesHelper(linkM);
      node.add(axes);
      this.axes.push(axes);
    }
    for (const frame of figure.model.frames) {
      const axes = new AxesHelper(frameM);
      placement(frame.xyz, frame.rpy).decompose(axes.position, axes.quaternion, axes.scale);
      figure.links.get(frame.link)?.add(axes);
      this.axes.push(axes);
    }
    for (const axes of this.axes) {
      // They are seen through the body: that is where most of them are.
      axes.renderOrder = 4;
      for (const material of [axes.material].flat()) material.depthTest = false;
    }
  }

  show(isShown: boolean): void {
    for (const axes of this.axes) axes.visible = isShown;
  }

  dispose(): void {
    for (const axes of this.axes) axes.dispose();
  }
}
