import { DatabaseSync } from 'node:sqlite'

/** Loaded before a child of the tests: whatever `synchronous` the store asks for, it gets OFF. */
const exec = DatabaseSync.prototype.exec
const prepare = DatabaseSync.prototype.prepare

DatabaseSync.prototype.exec = function (sql) {
  exec.call(this, weakened(sql))
}

DatabaseSync.prototype.prepare = function (sql, ...rest) {
  return prepare.call(this, weakened(sql), ...rest)
}

function weakened(sql: string): string {
  return sql.replaceAll(/(PRAGMA\s+synchronous\s*=\s*)\w+/gi, '$1OFF')
}
