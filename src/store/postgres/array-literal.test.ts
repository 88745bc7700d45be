import pg from 'pg'
import { expect, inject, test } from 'vitest'
import { arrayLiteral } from './columns.ts'

test('Postgres reads an array as it was written, whatever the texts are', async () => {
  const texts = [
    'plain',
    '',
    'NULL',
    'null',
    '{}',
    ',',
    '"',
    '\\',
    '\\"',
    ' padded ',
    '{"a":"b\\\\u0000"}',
    'é\u{1f600}',
    '\n',
    null,
  ]
  const client = new pg.Client(inject('postgresUrl'))
  await client.connect()
  try {
    const { rows } = await client.query(
      'SELECT $1::text[] AS texts, $2::int8[]::text AS numbers, $3::bool[] AS flags',
      [texts, [1, null, Number.MAX_SAFE_INTEGER], [true, false, null]].map((items) =>
        arrayLiteral<string | number | boolean | null>(items, (item) => item),
      ),
    )
    expect(rows[0]).toEqual({ texts, numbers: '{1,NULL,9007199254740991}', flags: [true, false, null] })
  } finally {
    await client.end()
  }
})
