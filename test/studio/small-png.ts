import { crc32, deflateSync, inflateSync } from 'node:zlib'

/**
 * A picture of a page with at most 256 colours: about a third of the bytes, and hard to tell from the original, because a page has few colours and shades of
 * its text. Takes the PNGs that Chromium writes: 8 bits a channel, not interlaced.
 */
export function smallPng(png: Buffer): Buffer {
  const { width, height, pixels } = decoded(png)
  const { palette, indexes } = quantized(pixels)
  const rows = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y += 1) indexes.copy(rows, y * (width + 1) + 1, y * width, (y + 1) * width)
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 3, 0, 0, 0], 8)
  const chunks = [chunk('IHDR', header), chunk('PLTE', palette), chunk('IDAT', deflateSync(rows, { level: 9 }))]
  return Buffer.concat([png.subarray(0, 8), ...chunks, chunk('IEND', Buffer.alloc(0))])
}

type Picture = { readonly width: number; readonly height: number; readonly pixels: Uint32Array }

function decoded(png: Buffer): Picture {
  const width = png.readUInt32BE(16)
  const height = png.readUInt32BE(20)
  const channels = png[25] === 6 ? 4 : 3
  const parts: Buffer[] = []
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at)
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length))
    at += length + 12
  }
  const bytes = unfiltered(inflateSync(Buffer.concat(parts)), width * channels, height, channels)
  const pixels = new Uint32Array(width * height)
  for (let n = 0; n < pixels.length; n += 1) {
    const at = n * channels
    pixels[n] = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!
  }
  return { width, height, pixels }
}

/** Takes back the filter that each row was written with. */
function unfiltered(data: Buffer, rowBytes: number, height: number, channels: number): Buffer {
  const bytes = Buffer.alloc(rowBytes * height)
  for (let y = 0; y < height; y += 1) {
    const filter = data[y * (rowBytes + 1)]!
    for (let x = 0; x < rowBytes; x += 1) {
      const at = y * rowBytes + x
      const left = x >= channels ? bytes[at - channels]! : 0
      const up = y > 0 ? bytes[at - rowBytes]! : 0
      const corner = y > 0 && x >= channels ? bytes[at - rowBytes - channels]! : 0
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]!
      bytes[at] = data[y * (rowBytes + 1) + 1 + x]! + guess
    }
  }
  return bytes
}

function paeth(left: number, up: number, corner: number): number {
  const [toLeft, toUp, toCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)]
  if (toLeft <= toUp && toLeft <= toCorner) return left
  return toUp <= toCorner ? up : corner
}

/** Every pixel has the nearest of the colours in the palette. */
function quantized(pixels: Uint32Array): { palette: Buffer; indexes: Buffer } {
  const colours = paletteOf(pixels)
  const nearest = new Map(colours.map((colour, index) => [colour, index]))
  const indexes = Buffer.alloc(pixels.length)
  for (const [n, colour] of pixels.entries()) {
    let index = nearest.get(colour)
    if (index === undefined) nearest.set(colour, (index = nearestOf(colour, colours)))
    indexes[n] = index
  }
  return {
    palette: Buffer.from(colours.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255])),
    indexes,
  }
}

/** Half of it are the most frequent colours, for surfaces and text. The others are far from all of these: a small word in amber stays amber. */
function paletteOf(pixels: Uint32Array): number[] {
  const counts = new Map<number, number>()
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1)
  const byCount = [...counts.keys()].sort((one, other) => counts.get(other)! - counts.get(one)!)
  const palette = byCount.slice(0, 128)
  const rest = byCount.slice(128)
  const distances = rest.map((colour) => Math.min(...palette.map((other) => distance(colour, other))))
  while (palette.length < 256 && rest.length > 0) {
    const farthest = distances.indexOf(distances.reduce((most, one) => Math.max(most, one), 0))
    const chosen = rest[farthest]!
    palette.push(chosen)
    for (const [index, colour] of rest.entries())
      distances[index] = Math.min(distances[index]!, distance(colour, chosen))
  }
  return palette
}

function nearestOf(colour: number, colours: readonly number[]): number {
  let best = 0
  let least = Number.POSITIVE_INFINITY
  for (const [index, other] of colours.entries()) {
    const far = distance(colour, other)
    if (far < least) {
      least = far
      best = index
    }
  }
  return best
}

function distance(colour: number, other: number): number {
  const red = (colour >> 16) - (other >> 16)
  const green = ((colour >> 8) & 255) - ((other >> 8) & 255)
  const blue = (colour & 255) - (other & 255)
  return red * red + green * green + blue * blue
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const whole = Buffer.alloc(named.length + 8)
  whole.writeUInt32BE(data.length, 0)
  named.copy(whole, 4)
  whole.writeUInt32BE(crc32(named), named.length + 4)
  return whole
}
