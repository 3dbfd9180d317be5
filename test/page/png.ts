import { crc32, deflateSync, inflateSync } from 'node:zlib';

/**
 * A browser screenshot with a palette of 256 colours (PNG, third edition: 9 filters, 11 chunks): a page has few
 * colours, and the file shrinks to a quarter.
 */

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Bytes per pixel: 3, or 4 with transparency, which is dropped. */
  readonly step: number;
  readonly bytes: Buffer;
}

const COLOURS = 256;
const SIGNATURE_BYTES = 8;

export function withPalette(png: Buffer): Buffer {
  const pixels = pixelsOf(png);
  const { width, height, step, bytes } = pixels;
  const { palette, indexOf } = paletteOf(pixels);
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0, at = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, at += step)
      rows[y * (width + 1) + x + 1] = indexOf(bytes.readUIntBE(at, 3));
  }
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((rgb) => [rgb >> 16, (rgb >> 8) & 255, rgb & 255]));
  return Buffer.concat([
    png.subarray(0, SIGNATURE_BYTES),
    written({ type: 'IHDR', data: head }),
    written({ type: 'PLTE', data: colours }),
    written({ type: 'IDAT', data: deflateSync(rows, { level: 9, memLevel: 9 }) }),
    written({ type: 'IEND', data: Buffer.alloc(0) }),
  ]);
}

/** The most frequent colours; all others map to the nearest of them. */
function paletteOf({ step, bytes }: Pixels) {
  const counts = new Map<number, number>();
  for (let at = 0; at < bytes.length; at += step) {
    const rgb = bytes.readUIntBE(at, 3);
    counts.set(rgb, (counts.get(rgb) ?? 0) + 1);
  }
  const palette = [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, COLOURS)
    .map(([rgb]) => rgb);
  const known = new Map(palette.map((rgb, index) => [rgb, index]));
  const indexOf = (rgb: number): number => {
    const found = known.get(rgb);
    if (found !== undefined) return found;
    const distances = palette.map((other) => distance(rgb, other));
    const nearest = distances.indexOf(Math.min(...distances));
    known.set(rgb, nearest);
    return nearest;
  };
  return { palette, indexOf };
}

function distance(a: number, b: number): number {
  return [16, 8, 0].reduce((sum, shift) => sum + (((a >> shift) & 255) - ((b >> shift) & 255)) ** 2, 0);
}

function pixelsOf(png: Buffer): Pixels {
  const chunks = chunksOf(png);
  const head = chunks[0]?.data ?? Buffer.alloc(0);
  const [width, height, depth, kind] = [head.readUInt32BE(0), head.readUInt32BE(4), head[8], head[9]];
  const step = kind === 6 ? 4 : 3;
  if (depth !== 8 || (kind !== 2 && kind !== 6)) throw new Error(`a picture of kind ${kind}, depth ${depth}`);
  const packed = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data));
  return { width, height, step, bytes: unfiltered(inflateSync(packed), width * step, step) };
}

function chunksOf(png: Buffer): readonly Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = SIGNATURE_BYTES; at < png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push({
      type: png.toString('latin1', at + 4, at + 8),
      data: png.subarray(at + 8, at + 8 + length),
    });
    at += 12 + length;
  }
  return chunks;
}

function unfiltered(raw: Buffer, line: number, step: number): Buffer {
  const height = raw.length / (line + 1);
  const out = Buffer.alloc(line * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (line + 1)] ?? 0;
    for (let x = 0; x < line; x += 1) {
      const left = x >= step ? (out[y * line + x - step] ?? 0) : 0;
      const up = y > 0 ? (out[(y - 1) * line + x] ?? 0) : 0;
      const corner = x >= step && y > 0 ? (out[(y - 1) * line + x - step] ?? 0) : 0;
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
      out[y * line + x] = (raw[y * (line + 1) + 1 + x] ?? 0) + predicted;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

function written({ type, data }: Chunk): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
