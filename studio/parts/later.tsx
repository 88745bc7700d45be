import { type ComponentType, lazy, useMemo } from 'react'

/** A page whose code is loaded when it is first shown, or before. */
export class LaterPage<Props extends object> {
  readonly #load: () => Promise<ComponentType<Props>>
  #loaded: ComponentType<Props> | null = null
  readonly #lazy = lazy(async () => ({ default: await this.load() })) as unknown as ComponentType<Props>

  constructor(load: () => Promise<ComponentType<Props>>) {
    this.#load = load
  }

  async load(): Promise<ComponentType<Props>> {
    this.#loaded ??= await this.#load()
    return this.#loaded
  }

  /** Renders at once where it is loaded, and waits for it elsewhere. */
  get component(): ComponentType<Props> {
    return this.#loaded ?? this.#lazy
  }
}

/** Shows a page that is loaded later. */
export function Later<Props extends object>({ page, props }: { page: LaterPage<Props>; props: Props }) {
  // Chosen once: another component in its place would lose the state of the page.
  const Page = useMemo(() => page.component, [page])
  return <Page {...props} />
}
