const hour = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const day = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** The hour of something, with its day where that was not today; the exact time on hover. */
export function Clock({ at }: { at: number }) {
  const isToday = new Date(at).toDateString() === new Date().toDateString()
  return (
    <time dateTime={new Date(at).toISOString()} title={exact.format(at)} className="whitespace-nowrap">
      {(isToday ? hour : day).format(at)}
    </time>
  )
}
