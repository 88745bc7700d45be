import type { BulkJob, NodeState, Pause, PauseTarget, Work } from 'perdure/client'
import { useClient } from 'perdure/react'
import type { ReactNode } from 'react'
import { AskingButton } from '../parts/asking-button.tsx'
import { errorWords } from '../parts/error-words.ts'
import { Id } from '../parts/id.tsx'
import { oneLine } from '../parts/shown-text.ts'
import { Status } from '../parts/status.tsx'
import { AgoWords } from '../parts/time.tsx'
import { count } from './figures.ts'
import type { Fleet, Part } from './use-stats.ts'

type FleetProps = { readonly fleet: Fleet; readonly again: () => Promise<void> }

/** The processes of the store, what they do not work on, and what an operator can do about both. */
export function FleetSections({ fleet, again }: FleetProps) {
  const { nodes, pauses, jobs, due, quarantined } = fleet
  return (
    <div className="border-t">
      <Section
        title="Nodes"
        part={nodes}
        empty={
          <>
            No process works on this store, and messages wait until one does. Run <code>perdure serve</code>.
          </>
        }
      >
        {(found) => found.map((node) => <NodeRow key={node.holder} node={node} all={found} again={again} />)}
      </Section>
      <Section
        title="Paused"
        part={pauses}
        empty={
          <>
            Nothing is paused. The menu of a conversation pauses it; <code>perdure pause --agent NAME</code> pauses an
            agent in every tenant.
          </>
        }
      >
        {(found) => found.map((pause) => <PauseRow key={pause.id} pause={pause} again={again} />)}
      </Section>
      <Section
        title="Bulk jobs"
        part={jobs}
        empty={
          <>
            There is no bulk job. <code>perdure bulk</code> cancels, retries or unquarantines many conversations at
            once.
          </>
        }
      >
        {(found) => found.map((job) => <JobRow key={job.id} job={job} again={again} />)}
      </Section>
      <Section title="Oldest due work" part={due} empty="Nothing is due: all that can go on is worked on.">
        {(found) => found.map((work) => <WorkRow key={`${work.tenant} ${work.id}`} work={work} />)}
      </Section>
      <Section
        title="Quarantined"
        part={quarantined}
        empty="Nothing is quarantined: no conversation ended five processes in a row."
      >
        {(found) => found.map((work) => <QuarantinedRow key={`${work.tenant} ${work.id}`} work={work} again={again} />)}
      </Section>
    </div>
  )
}

type SectionProps<T> = {
  readonly title: string
  readonly part: Part<readonly T[]>
  /** What to do where there is nothing. */
  readonly empty: ReactNode
  readonly children: (found: readonly T[]) => ReactNode
}

function Section<T>({ title, part, empty, children }: SectionProps<T>) {
  return (
    <section aria-label={title} className="not-last:border-b px-4 py-3">
      <h2 className="mb-1 font-medium">{title}</h2>
      {'error' in part ? (
        <p className="text-faint">{errorWords(part.error)}</p>
      ) : part.found.length === 0 ? (
        <p className="text-faint">{empty}</p>
      ) : (
        <ul>{children(part.found)}</ul>
      )}
    </section>
  )
}

/** What it is, some facts, and what can be done: columns at a desk, and lines that wrap on a phone. */
function Row({
  name,
  facts,
  action,
}: {
  name: ReactNode
  facts: Readonly<Record<string, ReactNode>>
  action?: ReactNode
}) {
  return (
    <li className="flex min-h-10 items-center gap-4 border-t py-1">
      <div className="flex min-w-0 grow flex-wrap items-baseline gap-x-4 gap-y-0.5 lg:grid lg:grid-cols-[minmax(0,2fr)_repeat(4,minmax(0,1fr))]">
        <span className="min-w-0 max-lg:w-full">{name}</span>
        {Object.entries(facts).map(([fact, value]) => (
          <span key={fact} className="min-w-0 text-soft max-lg:empty:hidden">
            {value}
          </span>
        ))}
      </div>
      <span className="flex shrink-0 justify-end md:w-28">{action}</span>
    </li>
  )
}

type NodeRowProps = {
  readonly node: NodeState
  readonly all: readonly NodeState[]
  readonly again: () => Promise<void>
}

function NodeRow({ node, all, again }: NodeRowProps) {
  const { holder, version, works, capacity, held, seenAt, drain } = node
  const client = useClient()
  const name = oneLine(holder, 120)
  const isLast = !all.some((other) => other.holder !== holder && other.works && !other.drain && !other.isSilent)
  return (
    <Row
      name={<Id id={holder} />}
      facts={{
        version: version === null ? 'version not known' : `version ${oneLine(version, 40)}`,
        state: <NodeStateWords node={node} />,
        held: capacity === null ? `${count(held)} held` : `${count(held)} of ${count(capacity)} held`,
        seen: seenAt !== null && (
          <>
            seen <AgoWords at={seenAt} />
          </>
        ),
      }}
      action={
        drain ? (
          <AskingButton
            words="Undrain"
            label={`Undrain ${name}`}
            title="Let this node work again?"
            act={() => client.undrain(holder)}
            again={again}
          >
            {name} takes work again with its next beat.
          </AskingButton>
        ) : (
          // Holders of an earlier version know no drains.
          works &&
          version !== null && (
            <AskingButton
              words="Drain"
              label={`Drain ${name}`}
              title="Drain this node?"
              isDangerous
              act={() => client.drain(holder)}
              again={again}
            >
              {name} takes no more work, and hands over what it still holds after 10 seconds. It goes on to serve
              requests.
              {isLast && ' No other node works: messages wait until one does.'}
            </AskingButton>
          )
        )
      }
    />
  )
}

function NodeStateWords({ node: { works, isSilent, drain } }: { node: NodeState }) {
  if (drain)
    return (
      <span title={drain.reason === null ? undefined : oneLine(drain.reason, 400)}>
        <Status status="draining" />, asked <AgoWords at={drain.at} /> by <bdi>{oneLine(drain.who, 60)}</bdi>
      </span>
    )
  if (isSilent) return <Status status="silent" />
  return works ? 'works' : 'serves'
}

function PauseRow({ pause, again }: { pause: Pause; again: () => Promise<void> }) {
  const client = useClient()
  const { target, who, at, reason } = pause
  const words = targetWords(target)
  return (
    <Row
      name={<bdi>{words}</bdi>}
      facts={{
        at: <AgoWords at={at} />,
        who: <By who={who} />,
        reason: reason !== null && <bdi>{oneLine(reason, 200)}</bdi>,
      }}
      action={
        <AskingButton
          words="Resume"
          label={`Resume ${words}`}
          title="Resume it?"
          act={() => client.resume(target)}
          again={again}
        >
          What waits in {words} is due at once.
        </AskingButton>
      }
    />
  )
}

function By({ who }: { who: string }) {
  return (
    <>
      by <bdi>{oneLine(who, 60)}</bdi>
    </>
  )
}

function targetWords(target: PauseTarget): string {
  if ('agent' in target) return `agent ${oneLine(target.agent, 120)}`
  if ('conversation' in target)
    return `conversation ${oneLine(target.conversation, 120)} of tenant ${oneLine(target.tenant ?? 'default', 80)}`
  return `tenant ${oneLine(target.tenant, 120)}`
}

function JobRow({ job, again }: { job: BulkJob; again: () => Promise<void> }) {
  const client = useClient()
  const { id, action, tenant, who, state, startedAt, done, skipped, failed, problem } = job
  return (
    <Row
      name={
        <>
          {action} in tenant <bdi>{oneLine(tenant, 80)}</bdi>
        </>
      }
      facts={{
        state: (
          <span title={problem === null ? undefined : oneLine(problem, 400)}>
            <Status status={state} />
          </span>
        ),
        progress: (
          <>
            {count(done)} done, {count(skipped)} skipped,{' '}
            <span className={failed > 0 ? 'text-failed' : undefined}>{count(failed)} failed</span>
          </>
        ),
        at: (
          <>
            started <AgoWords at={startedAt} />
          </>
        ),
        who: <By who={who} />,
      }}
      action={
        state === 'running' && (
          <AskingButton
            words="Stop"
            label={`Stop job ${oneLine(id, 80)}`}
            title="Stop this job?"
            isDangerous
            act={() => client.bulk.stop(id)}
            again={again}
          >
            It ends after the conversations under way. What it did stays done.
          </AskingButton>
        )
      }
    />
  )
}

function WorkRow({ work }: { work: Work }) {
  const { id, at, pause, lapses } = work
  return (
    <Row
      name={<Id id={id} />}
      facts={{
        since: (
          <>
            due <AgoWords at={at} />
          </>
        ),
        ...ofWork(work),
        state: pause ? (
          <Status status="paused" />
        ) : (
          lapses > 0 && `${count(lapses)} ${lapses === 1 ? 'lapse' : 'lapses'}`
        ),
      }}
    />
  )
}

function QuarantinedRow({ work, again }: { work: Work; again: () => Promise<void> }) {
  const client = useClient()
  const { tenant, id, at } = work
  return (
    <Row
      name={<Id id={id} />}
      facts={{
        since: (
          <span className="text-failed">
            since <AgoWords at={at} />
          </span>
        ),
        ...ofWork(work),
      }}
      action={
        <AskingButton
          words="Release"
          label={`Release ${oneLine(id, 120)}`}
          title="Let processes work on it again?"
          act={() => client.unquarantine({ id, tenant })}
          again={again}
        >
          It ended the last five processes that worked on it. Mend the cause first, or it ends five more.
        </AskingButton>
      }
    />
  )
}

function ofWork({ agent, tenant }: Work): { agent: ReactNode; tenant: ReactNode } {
  return {
    agent: agent === null ? 'no agent' : <bdi>{oneLine(agent, 80)}</bdi>,
    tenant: (
      <>
        tenant <bdi>{oneLine(tenant, 80)}</bdi>
      </>
    ),
  }
}
