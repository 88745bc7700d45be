import { buildStudio } from '../studio/build-studio.ts'

/** Runs only when there are tests of the studio to run. */
export default async function setup(): Promise<void> {
  await buildStudio()
}
