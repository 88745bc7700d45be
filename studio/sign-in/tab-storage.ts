/** What one tab remembers over a reload. Where storage is switched off it remembers nothing, and the person signs in again. */
export function recall(name: string): string | null {
  return storage((tab) => tab.getItem(name)) ?? null
}

export function remember(name: string, value: string): void {
  storage((tab) => tab.setItem(name, value))
}

export function forget(name: string): void {
  storage((tab) => tab.removeItem(name))
}

function storage<T>(use: (tab: Storage) => T): T | undefined {
  try {
    return use(sessionStorage)
  } catch {
    return undefined
  }
}
