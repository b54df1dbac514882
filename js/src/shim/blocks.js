// @ts-check
// Binary values in a result (Blob, File, canvas, img, ImageBitmap, ImageData) become MCP content blocks where they are.

import { global, windowOrigin } from './dom.js';
import { describe, typeError } from './errors.js';
import { NativePromise, addEventListener, jsonStringify, members, own, slice } from './natives.js';

const NativeFileReader = FileReader;
const NativeCanvas = /** @type {any} */ (window).OffscreenCanvas;
const encodeComponent = encodeURIComponent;
const { ceil } = Math;
const [readAsDataURL, readerResult, readerError] = members('FileReader', 'readAsDataURL', 'result', 'error');
const [blobSize, blobType] = members('Blob', 'size', 'type');
const [fileName] = members('File', 'name');
const [canvasToBlob] = members('HTMLCanvasElement', 'toBlob');
const [getContext, convertToBlob] = members('OffscreenCanvas', 'getContext', 'convertToBlob');
const [drawImage, putImageData] = members('OffscreenCanvasRenderingContext2D', 'drawImage', 'putImageData');
const [naturalWidth, naturalHeight] = members('HTMLImageElement', 'naturalWidth', 'naturalHeight');
const [bitmapWidth, bitmapHeight] = members('ImageBitmap', 'width', 'height');
const [dataWidth, dataHeight] = members('ImageData', 'width', 'height');
const maxPixels = 2 ** 26;
const tooLarge = { name: '', message: '' };

/**
 * fill writes the blocks into the gaps that encode left. A result that is nothing but binary is a list of content.
 * @param {Encoded} encoded
 * @param {number} max
 * @returns {Promise<Encoded>}
 */
export async function fill({ text: last, bytes, parts }, max) {
  let text = last;
  let size = bytes;
  let count = 0;
  for (let part = parts; part !== null; part = part.next) {
    let block = '';
    try {
      block = await own(blockOf(part, max - size));
    } catch (error) {
      const large = error === tooLarge;
      const message = `${part.path}: ${large ? `longer than ${max} bytes` : describe(error).message}`;
      return { __proto__: null, kind: large ? 'too_large' : 'invalid', text: '', bytes: 0, message, error, parts: null };
    }
    count++;
    size += block.length;
    text = part.text + block + text;
  }
  if (bytes === 0) text = `[${text}]`;
  if (bytes === 0 || (bytes === count + 1 && slice(text, 0, 1) === '[')) text = `{"content":${text}}`;
  if (bytes <= count + 1) size = text.length;
  return { __proto__: null, kind: 'ok', text, bytes: size, message: '', error: undefined, parts: null };
}

/**
 * @param {Part} part
 * @param {number} room for the block, in bytes
 * @returns {Promise<string>} never longer than room
 */
async function blockOf({ tag, value, path }, room) {
  const blob = await own(toBlob(tag, value));
  const length = ceil(blobSize(blob) / 3) * 4;
  if (length > room) throw tooLarge;
  const url = await own(new NativePromise((resolve, reject) => {
    const reader = new NativeFileReader();
    addEventListener(reader, 'load', () => resolve(readerResult(reader)));
    addEventListener(reader, 'error', () => reject(readerError(reader)));
    readAsDataURL(reader, blob);
  }));
  const data = slice(url, url.length - length);
  const type = blobType(blob) || 'application/octet-stream';
  const kind = slice(type, 0, 6);
  let text = `"mimeType":${jsonStringify(type)},`;
  if (kind === 'image/' || kind === 'audio/') text = `{"type":"${slice(kind, 0, 5)}",${text}"data":"${data}"}`;
  else {
    const name = encodeComponent(tag === 'File' ? fileName(value) : path);
    text = `{"type":"resource","resource":{"uri":"blob:${windowOrigin(global)}/${name}",${text}"blob":"${data}"}}`;
  }
  if (text.length > room) throw tooLarge;
  return text;
}

/**
 * @param {string} tag
 * @param {any} value
 * @returns {Promise<any>}
 */
function toBlob(tag, value) {
  switch (tag) {
    case 'HTMLCanvasElement': return new NativePromise((resolve, reject) => {
      canvasToBlob(value, (/** @type {any} */ blob) => (blob === null ? reject(typeError('an empty canvas')) : resolve(blob)));
    });
    case 'OffscreenCanvas': return convertToBlob(value);
    case 'HTMLImageElement': return draw(drawImage, value, naturalWidth(value), naturalHeight(value));
    case 'ImageBitmap': return draw(drawImage, value, bitmapWidth(value), bitmapHeight(value));
    case 'ImageData': return draw(putImageData, value, dataWidth(value), dataHeight(value));
    default: return new NativePromise((resolve) => resolve(value));
  }
}

/**
 * draw makes a PNG of an image. What came from another origin taints the canvas, and then the browser refuses.
 * @param {(context: any, image: any, x: number, y: number) => void} put
 * @param {any} image
 * @param {number} width
 * @param {number} height
 */
function draw(put, image, width, height) {
  if (width * height > maxPixels) throw tooLarge;
  if (width * height === 0) throw typeError('an image without a size');
  const canvas = new NativeCanvas(width, height);
  put(getContext(canvas, '2d'), image, 0, 0);
  return convertToBlob(canvas);
}
