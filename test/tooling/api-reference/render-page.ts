import type { Declaration } from './declarations.ts'

type Section = { readonly title: string; readonly members: readonly Declaration[] }

export type Page = {
  readonly specifier: string
  readonly declarations: readonly Declaration[]
  /** What those are made of, and cannot be imported. */
  readonly behind: readonly Declaration[]
}

/** One page for each entry of the package: what it exports, by folder, each with its comment and its signature. */
export function renderPage({ specifier, declarations, behind }: Page): string {
  const groups = Map.groupBy(declarations, ({ file }) => titleOf(file))
  const titles = [...groups.keys()].sort((left, right) => placeOf(left) - placeOf(right) || (left < right ? -1 : 1))
  const exported = titles.map((title) => ({ title, members: groups.get(title)!.toSorted(valuesFirst) }))
  const hidden = behind.length === 0 ? [] : [{ title: hiddenTitle, members: behind.toSorted(valuesFirst) }]
  const sections: readonly Section[] = [...exported, ...hidden]
  return [
    `# ${specifier}`,
    '<!-- Made by `npm run docs:api` from the comments and types in src. Do not edit. -->',
    introduction(specifier),
    contents(sections, anchorsOf(specifier, sections)),
    ...sections.flatMap(({ title, members }) => [`## ${title}`, ...members.flatMap(section)]),
  ]
    .join('\n\n')
    .concat('\n')
}

const hiddenTitle = 'What these are made of, and cannot be imported'

function introduction(specifier: string): string {
  return [
    `\`import { ... } from '${specifier}'\`. How to use it is in the [guides](../README.md).`,
    'Types that are not on this page are on that of [another entry](README.md).',
  ].join(' ')
}

function contents(sections: readonly Section[], anchors: ReadonlyMap<Declaration, string>): string {
  const linksOf = (members: Section['members']): string =>
    members.map((member) => `[${member.name}](#${anchors.get(member)})`).join(', ')
  return sections.map(({ title, members }) => `- **${title}**: ${linksOf(members)}`).join('\n')
}

/** A reader looks for what to call first. */
const order = [
  'Runtime',
  'Agents',
  'Tools',
  'Hooks',
  'Scopes',
  'Context',
  'Flows',
  'Snapshots',
  'Stores',
  'Models',
  'Views',
  'Log',
  'Errors',
  'More',
]

/** The first that a file's path begins with. */
const titles: readonly (readonly [path: string, title: string])[] = [
  ['define/agent', 'Agents'],
  ['define/define-agent', 'Agents'],
  ['define/derive-agent', 'Agents'],
  ['define/context-settings', 'Agents'],
  ['define/create-hook', 'Hooks'],
  ['define/verdict', 'Hooks'],
  ['define/turn', 'Hooks'],
  ['define/user-parts', 'Hooks'],
  ['define/scope', 'Scopes'],
  ['define/create-scope', 'Scopes'],
  ['define/register', 'Scopes'],
  ['define/define-flow', 'Flows'],
  ['define/flow', 'Flows'],
  ['define/language-model', 'Models'],
  ['define/stream-chunk', 'Models'],
  ['define/', 'Tools'],
  ['runtime/', 'Runtime'],
  ['engine/', 'Runtime'],
  ['prompt/', 'Context'],
  ['snapshot/', 'Snapshots'],
  ['log/snapshot', 'Snapshots'],
  ['store/', 'Stores'],
  ['model/', 'Models'],
  ['view/', 'Views'],
  ['log/', 'Log'],
  ['base/json', 'Log'],
  ['base/errors/', 'Errors'],
  ['server/', 'Server'],
  ['client/', 'Client'],
  ['testing/', 'Testing'],
  ['config/', 'Configuration'],
]

function titleOf(file: string): string {
  return titles.find(([path]) => file.startsWith(path))?.[1] ?? 'More'
}

function placeOf(title: string): number {
  return order.indexOf(title)
}

function valuesFirst(left: Declaration, right: Declaration): number {
  const rank = ({ kind }: Declaration): number => (kind === 'type' ? 1 : 0)
  return rank(left) - rank(right) || (left.name < right.name ? -1 : 1)
}

/** As GitHub makes them: in lower case, and numbered where two headings read alike. */
function anchorsOf(specifier: string, sections: readonly Section[]): Map<Declaration, string> {
  const counts = new Map<string, number>([[slugOf(specifier), 1]])
  const anchors = new Map<Declaration, string>()
  const anchorOf = (heading: string): string => {
    const slug = slugOf(heading)
    const count = counts.get(slug) ?? 0
    counts.set(slug, count + 1)
    return count === 0 ? slug : `${slug}-${count}`
  }
  for (const { title, members } of sections) {
    anchorOf(title)
    for (const member of members) anchors.set(member, anchorOf(member.name))
  }
  return anchors
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(' ', '-')
    .replaceAll(/[^\w-]/g, '')
}

function section({ name, doc, code }: Declaration): string[] {
  return [`### ${name}`, ...(doc === null ? [] : [doc]), ['```ts', ...code, '```'].join('\n')]
}
