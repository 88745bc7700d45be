import { CommandLineError } from '../../base/errors/cli-errors.ts'
import { silentLogger } from '../../base/logger.ts'
import type { BulkJob, BulkRequest } from '../../runtime/bulk/bulk-request.ts'
import { type Bulk, bulkVerbs } from '../../runtime/bulk/bulk-verbs.ts'
import { command, counted, countOf, type ExitCode, exitCodes } from '../command.ts'
import type { Output } from '../output.ts'
import { openStore } from '../target/open-store.ts'
import { storeArgs, targetArgs, userNameOf } from '../target/target-args.ts'
import { ago, table } from '../terminal/text.ts'

export const bulk = command({
  args: {
    action: {
      type: 'positional',
      required: false,
      description: 'cancel, retry or unquarantine; default: list the jobs',
    },
    agent: { type: 'string', description: 'Only conversations of this agent' },
    owner: { type: 'string', description: 'Only those that this user opened' },
    status: { type: 'string', description: 'Only those with this status, as perdure list prints it' },
    text: { type: 'string', description: 'Only those with this text in their title or id' },
    'older-than-ms': {
      type: 'string',
      valueHint: 'ms',
      description: 'Only those to which nothing was written for so long',
    },
    force: { type: 'boolean', description: 'Of retry: also past tools that may have had an effect' },
    'per-second': { type: 'string', valueHint: 'n', description: 'How many a second at most; default: 50' },
    'dry-run': { type: 'boolean', description: 'Only count what matches' },
    stop: { type: 'string', valueHint: 'id', description: 'Stop this job after the conversations under way' },
    limit: { type: 'string', valueHint: 'n', description: 'How many jobs to list; default: 20' },
    ...storeArgs,
    who: targetArgs.who,
  },
  about:
    'Starts a durable job over many conversations of a tenant, which the processes that run the agents work on, or lists and stops jobs. A retried turn acts for the user whose turn it was; --who is recorded with the job. Exit code 1 when there is no job to stop.',
  examples: [
    ['bulk', 'how far are the jobs?'],
    ['bulk cancel --agent support --status waiting --dry-run', 'how many would it cancel?'],
    ['bulk retry --agent support', 'after an outage of the provider'],
    ['bulk --stop 0198c0de-7a2b-7c3d-8e4f-5a6b7c8d9e0f', 'enough'],
  ],
  async run({ args, output }) {
    const { action, stop } = args
    if (action !== undefined && stop !== undefined)
      throw new CommandLineError('--stop names a job that runs; leave out the action', 'bulk')
    const { store } = await openStore(args, { logger: silentLogger, expiry: false })
    try {
      const verbs = bulkVerbs(store)
      if (stop !== undefined) return await stopJob(verbs, stop, output)
      if (action === undefined) return await listJobs(verbs, countOf('limit', args.limit) ?? 20, output)
      const request = requestOf(action, args)
      if (args['dry-run']) {
        const count = await verbs.count(request)
        output.result(count, () => [
          `The job is for ${count.isPartial ? 'at least ' : ''}${counted(count.matches, 'conversation')}.`,
        ])
        return exitCodes.ok
      }
      const job = await verbs.start({ ...request, who: userNameOf(args) })
      output.result(job, () => [`Started ${job.id}. Progress: perdure bulk. To stop it: perdure bulk --stop ${job.id}`])
      return exitCodes.ok
    } finally {
      await store.close()
    }
  },
})

type FilterArgs = {
  readonly [name in 'agent' | 'owner' | 'status' | 'text' | 'older-than-ms' | 'per-second' | 'tenant']?:
    | string
    | undefined
} & { readonly force?: boolean | undefined }

function requestOf(action: string, args: FilterArgs): BulkRequest {
  const { agent, owner, status, text, tenant, force } = args
  const olderThanMs = countOf('older-than-ms', args['older-than-ms'], 0)
  const perSecond = countOf('per-second', args['per-second'], 1, 1_000)
  const given = { agent, owner, status, text, olderThanMs }
  const filter = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  return {
    action: action as BulkRequest['action'],
    filter,
    ...(tenant === undefined ? {} : { tenant }),
    ...(force ? { force } : {}),
    ...(perSecond === undefined ? {} : { perSecond }),
  }
}

async function stopJob(verbs: Bulk, id: string, output: Output): Promise<ExitCode> {
  const stopped = await verbs.stop(id)
  output.result({ id, stopped }, () => [
    stopped ? `'${id}' stops after the conversations under way.` : `There is no job '${id}' to stop.`,
  ])
  return stopped ? exitCodes.ok : exitCodes.failed
}

async function listJobs(verbs: Bulk, limit: number, output: Output): Promise<ExitCode> {
  const jobs = await verbs.list({ limit })
  const { colours, width } = output
  output.result({ jobs }, () => {
    if (jobs.length === 0) return ['There are no bulk jobs.']
    const heading = ['ID', 'ACTION', 'TENANT', 'STATE', 'DONE', 'SKIPPED', 'FAILED', 'WHO', 'STARTED']
    return table(heading.map(colours.bold), jobs.map(rowOf), width)
  })
  return exitCodes.ok
}

function rowOf({ id, action, tenant, state, done, skipped, failed, who, startedAt }: BulkJob): string[] {
  return [id, action, tenant, state, String(done), String(skipped), String(failed), who, ago(startedAt)]
}
