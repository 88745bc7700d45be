/**
 * Run as a program, with `TMPDIR` set to the folder to unpack into: `@sparticuz/chromium` takes no other. A process of its own, so that no test meets a
 * changed `TMPDIR`. Prints the path of the browser.
 */
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import chromium, { inflate } from '@sparticuz/chromium'

const packed = join(dirname(fileURLToPath(import.meta.resolve('@sparticuz/chromium'))), '..', 'bin')
// System libraries that a bare machine lacks, such as libnspr4.
const [path] = await Promise.all([chromium.executablePath(), inflate(join(packed, 'al2023.tar.br'))])
process.stdout.write(path)
