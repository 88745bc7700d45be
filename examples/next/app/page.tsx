import { Chat } from './chat.tsx'

type PageProps = { readonly searchParams: Promise<{ readonly id?: string }> }

export default async function Page({ searchParams }: PageProps) {
  const { id = 'ticket-42' } = await searchParams
  return <Chat url="/api/agents/ui/support" id={id} />
}
