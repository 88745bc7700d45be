import { expect, test } from 'vitest'
import { bytesOfDataUrl, maxDataUrlBytes } from './turn-options.ts'

const text = (url: string) => {
  const bytes = bytesOfDataUrl(url)
  return bytes && Buffer.from(bytes).toString('latin1')
}

test('the bytes of a data: URL are what follows its comma, percent-decoded', () => {
  expect(text('data:,Hello%20%41%2c%2C!')).toBe('Hello A,,!')
  expect(text('data:text/plain,a,b')).toBe('a,b')
  expect(text('data:,%E2%82%AC')).toBe(Buffer.from('€').toString('latin1'))
  expect(text('data:,€')).toBe(Buffer.from('€').toString('latin1'))
  expect(text('data:,')).toBe('')
})

test('a percent sign that begins no byte stands for itself', () => {
  expect(text('data:,100%')).toBe('100%')
  expect(text('data:,%zz%4')).toBe('%zz%4')
  expect(text('data:,%%41')).toBe('%A')
})

test('base64 is decoded where the URL says so, in either alphabet, also when it is percent-encoded', () => {
  expect(text('data:text/plain;base64,SGk=')).toBe('Hi')
  expect(text('data:;BASE64 ,SGk')).toBe('Hi')
  expect(text('data:text/plain;base64,SGk%3D')).toBe('Hi')
  expect(bytesOfDataUrl('data:;base64,-_8=')).toEqual(new Uint8Array([0xfb, 0xff]))
  expect(text('data:;base64x,SGk=')).toBe('SGk=')
  expect(text('data:;base64;x=1,SGk=')).toBe('SGk=')
})

test('what cannot be read, or has no comma, is nothing', () => {
  expect(bytesOfDataUrl('data:;base64,S!k=')).toBe(null)
  expect(bytesOfDataUrl('data:;base64,SGk===')).toBe(null)
  expect(bytesOfDataUrl('data:text/plain')).toBe(null)
})

test('as many bytes as the limit are read, and no more', () => {
  expect(bytesOfDataUrl(`data:,${'a'.repeat(maxDataUrlBytes)}`)?.byteLength).toBe(maxDataUrlBytes)
  expect(bytesOfDataUrl(`data:,${'a'.repeat(maxDataUrlBytes + 1)}`)).toBe(null)
  expect(bytesOfDataUrl(`data:,${'a'.repeat(2 * maxDataUrlBytes)}`)).toBe(null)
})
