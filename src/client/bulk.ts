import type { BulkJob } from '../runtime/bulk/bulk-request.ts'
import type { Bulk } from '../runtime/bulk/bulk-verbs.ts'
import { type ClientOptions, givenOptions, pathPart, requestJson } from './request.ts'

/** The verbs of bulk jobs on a server. */
export function remoteBulk(settings: ClientOptions): Bulk {
  const post = <T>(path: string, given: object): Promise<T> => {
    const body = givenOptions('request', given)
    return requestJson<T>(settings, path, { method: 'POST', body: () => body })
  }
  const pathOf = (id: string): string => `/store/jobs/${pathPart('job id', id)}`
  return {
    count: async (request) => post('/store/jobs/count', request),
    start: async (request) => (await post<{ job: BulkJob }>('/store/jobs', request)).job,
    list: async (page) => {
      const query = givenOptions('page', page)
      return (await requestJson<{ jobs: BulkJob[] }>(settings, '/store/jobs', { query })).jobs
    },
    get: async (id) => (await requestJson<{ job: BulkJob | null }>(settings, pathOf(id))).job,
    stop: async (id) => (await post<{ stopped: boolean }>(`${pathOf(id)}/stop`, {})).stopped,
  }
}
