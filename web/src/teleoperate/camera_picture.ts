// A picture of a camera onto a canvas of its size.
import type { Picture } from "./link";

/** Draws a JPEG; a broken one leaves the canvas as it is. */
export async function fitPicture(canvas: HTMLCanvasElement, picture: Picture): Promise<void> {
  let bitmap: ImageBitmap;
  try {
    bitmap = await createImageBitmap(new Blob([picture.jpeg], { type: "image/jpeg" }));
  } catch {
    // The next one may be whole.
    return;
  }
  if (canvas.width !== bitmap.width) canvas.width = bitmap.width;
  if (canvas.height !== bitmap.height) canvas.height = bitmap.height;
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
  bitmap.close();
}
