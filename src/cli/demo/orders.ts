export type Order = { readonly id: string; readonly item: string; readonly cents: number }

/** What the shop of the demo has sold. */
export const orders: readonly Order[] = [
  { id: '1234', item: 'a reading lamp', cents: 4990 },
  { id: '1235', item: 'a garden lantern', cents: 8900 },
  { id: '1236', item: 'twelve light bulbs', cents: 1250 },
]

export function findOrder(id: string): Order | null {
  return orders.find((order) => order.id === id) ?? null
}

export function inEuro(cents: number): string {
  return `${(cents / 100).toFixed(2)} EUR`
}
