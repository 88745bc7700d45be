/** Another route of the app, without the chat. */
export default function Page() {
  return <main>Elsewhere</main>
}
