/** How this command line is called again: in a clone by its script, else by npx, which finds it in a project and where it is global. */
export function perdureCommand(): string {
  return isFromSource() ? 'npm run -s perdure --' : 'npx perdure'
}

export function isFromSource(): boolean {
  return import.meta.url.endsWith('.ts')
}
