import type pg from 'pg'
import { MissingDependencyError } from '../../base/errors/store-errors.ts'

export type Pg = typeof pg

/** `pg` is an optional peer: only those who use this store have it. */
export async function loadPg(load: () => Promise<{ default: Pg }> = () => import('pg')): Promise<Pg> {
  try {
    return (await load()).default
  } catch (error) {
    throw new MissingDependencyError('pg', 'postgresStore', error)
  }
}
