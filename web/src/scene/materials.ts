// Materials of the robot, of its ghost, and of points.
import {
  type Color,
  DoubleSide,
  type Material,
  MeshBasicMaterial,
  MeshLambertMaterial,
  MeshStandardMaterial,
  ShaderMaterial,
} from "three";
import type { Palette } from "./palette";

export interface Materials {
  plain: Material;
  warn: Material;
  bad: Material;
  chosen: Material;
  /** The first only fills the depth, so that the ghost's own limbs do not show through it. */
  ghost: [Material, ShaderMaterial];
}

/** Shining shells cost a processor twice what dull ones do. */
function body(isFrugal: boolean, tint: Color | null, glow = 0): Material {
  const material = isFrugal
    ? new MeshLambertMaterial({ vertexColors: true, side: DoubleSide })
    : new MeshStandardMaterial({
        vertexColors: true,
        roughness: 0.5,
        metalness: 0.12,
        // Meshes of makers are open here and there, and inside out.
        side: DoubleSide,
      });
  if (tint) {
    material.color.copy(tint);
    material.emissive.copy(tint);
    material.emissiveIntensity = glow;
  }
  return material;
}

const ghostVertex = `
varying vec3 facing;
varying vec3 toEye;
void main() {
  vec4 seen = modelViewMatrix * vec4(position, 1.0);
  facing = normalize(normalMatrix * normal);
  toEye = normalize(-seen.xyz);
  gl_Position = projectionMatrix * seen;
}`;

const ghostFragment = `
uniform vec3 tone;
varying vec3 facing;
varying vec3 toEye;
void main() {
  float rim = 1.0 - abs(dot(normalize(facing), normalize(toEye)));
  gl_FragColor = vec4(tone, 0.2 + 0.6 * pow(rim, 1.8));
  #include <colorspace_fragment>
}`;

/** With a tint the robot is in that colour, and told from another one beside it. */
export function makeMaterials(
  palette: Palette,
  isFrugal = false,
  tint: Color | null = null,
): Materials {
  // A ghost in the very place of the robot lies behind it, and is not seen.
  const behind = { polygonOffset: true, polygonOffsetFactor: 4, polygonOffsetUnits: 8 };
  return {
    plain: body(isFrugal, tint),
    warn: body(isFrugal, palette.warn, 0.35),
    bad: body(isFrugal, palette.bad, 0.5),
    chosen: body(isFrugal, palette.ghost, 0.25),
    ghost: [
      new MeshBasicMaterial({ colorWrite: false, ...behind }),
      new ShaderMaterial({
        vertexShader: ghostVertex,
        fragmentShader: ghostFragment,
        uniforms: { tone: { value: palette.ghost.clone() } },
        transparent: true,
        depthWrite: false,
        ...behind,
      }),
    ],
  };
}

export function disposeMaterials(materials: Materials): void {
  for (const each of [
    materials.plain,
    materials.warn,
    materials.bad,
    materials.chosen,
    ...materials.ghost,
  ])
    each.dispose();
}
