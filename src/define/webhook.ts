import { createHmac } from 'node:crypto'
import { DefinitionError } from '../base/errors/definition-errors.ts'
import { shown, unknownKeys } from '../base/errors/read-options.ts'
import { pinnedPost } from '../base/pinned-request.ts'
import { minSecretBytes } from '../base/signer.ts'
import {
  defineSubscriber,
  type Subscriber,
  type SubscriberEvent,
  type SubscriberOptions,
  type SubscriberTopic,
} from './define-subscriber.ts'

/** The attributes of `webhook`. */
export type WebhookAttributes = SubscriberOptions & {
  /** `https:`, or `http:` with `allowPrivateAddresses`. */
  readonly url: string
  /** Known to the receiver, which checks the signature with it. At least 32 bytes. */
  readonly secret: string
  /** Default: 'webhook'. */
  readonly name?: string
  /** Default: `['waiting']`. */
  readonly on?: readonly SubscriberTopic[]
  readonly agent?: string
  /** What is sent, as JSON; undefined: nothing, and the event counts as delivered. Default: the event itself. */
  readonly body?: (event: SubscriberEvent) => unknown
  /** Allows addresses of this machine and of private networks. Default: false. */
  readonly allowPrivateAddresses?: boolean
}

/** The most that is sent: receivers refuse more. */
const maxBodyBytes = 256 * 1024
/** The most of an answer that is read, for the error. */
const maxAnswerBytes = 4 * 1024

/**
 * A subscriber that POSTs each event to an address, signed by the rules of Standard Webhooks: the headers `webhook-id`, `webhook-timestamp` and
 * `webhook-signature`. Any answer but 2xx is a failure, redirects too. The address is checked and connected to in one: a name that resolves to a private
 * address is refused.
 */
export function webhook(attributes: WebhookAttributes): Subscriber {
  const problems = unknownKeys(attributes, [...webhookKeys])
  const {
    url,
    secret,
    name = 'webhook',
    on = ['waiting'],
    body = (event) => event,
  } = Object(attributes) as WebhookAttributes
  const { agent, retry, timeoutMs = 10_000, allowPrivateAddresses = false } = Object(attributes) as WebhookAttributes
  const address = parsed(url)
  if (!address) problems.push(`'url' must be an address that begins with https://, not ${shown(url)}`)
  else if (address.protocol === 'http:' && allowPrivateAddresses !== true)
    problems.push("'url' must begin with https://; http:// is for private networks, with allowPrivateAddresses")
  if (address && (address.username || address.password))
    problems.push("'url' must not contain a password; the receiver checks the signature")
  if (typeof secret !== 'string' || !isLongEnough(secret))
    problems.push(
      `'secret' must be a random text of at least ${minSecretBytes} bytes, or whsec_ and at least ${minKeyBytes} bytes in base64; make one with: openssl rand -base64 32`,
    )
  if (typeof body !== 'function') problems.push("'body' must be a function of the event")
  if (typeof allowPrivateAddresses !== 'boolean') problems.push("'allowPrivateAddresses' must be true or false")
  if (problems.length > 0) throw new DefinitionError(`The webhook '${shown(name)}'`, problems)
  return defineSubscriber({
    name,
    on,
    timeoutMs,
    ...(agent === undefined ? {} : { agent }),
    ...(retry === undefined ? {} : { retry }),
    async run(event, { signal }) {
      const text = bodyText(await body(event))
      if (text === undefined) return
      const { id } = event
      const timestamp = Math.floor(Date.now() / 1000)
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'perdure',
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signature(secret, id, timestamp, text),
      }
      const request = {
        url: address!,
        headers,
        body: text,
        signal,
        allowPrivate: allowPrivateAddresses,
        maxBytes: maxAnswerBytes,
      }
      const { status, text: answer } = await pinnedPost(request)
      if (status < 200 || status > 299) throw new Error(`the receiver answered ${status}: ${answer.slice(0, 200)}`)
    },
  })
}

const webhookKeys = [
  'url',
  'secret',
  'name',
  'on',
  'agent',
  'body',
  'retry',
  'timeoutMs',
  'allowPrivateAddresses',
] as const

function bodyText(value: unknown): string | undefined {
  if (value === undefined) return undefined
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined)
    throw new Error(
      `'body' returned a ${typeof value}, which is not JSON; return an object, or undefined to send nothing`,
    )
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBodyBytes)
    throw new Error(`the body has ${bytes} bytes; the limit is ${maxBodyBytes}: send less with 'body'`)
  return text
}

const keyPrefix = 'whsec_'
/** The least that Standard Webhooks allows in a secret with its prefix. */
const minKeyBytes = 24

/** A secret with the prefix of Standard Webhooks is base64. */
function keyOf(secret: string): Buffer {
  return secret.startsWith(keyPrefix) ? Buffer.from(secret.slice(keyPrefix.length), 'base64') : Buffer.from(secret)
}

/** What is not base64 would be left out of the key without a word. */
function isLongEnough(secret: string): boolean {
  if (!secret.startsWith(keyPrefix)) return Buffer.byteLength(secret) >= minSecretBytes
  return /^[\w+/-]+=*$/.test(secret.slice(keyPrefix.length)) && keyOf(secret).length >= minKeyBytes
}

/** As Standard Webhooks has it: over id, time and body. */
function signature(secret: string, id: string, timestamp: number, body: string): string {
  return `v1,${createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.${body}`).digest('base64')}`
}

function parsed(url: unknown): URL | null {
  if (typeof url !== 'string' || !URL.canParse(url)) return null
  const address = new URL(url)
  return address.protocol === 'https:' || address.protocol === 'http:' ? address : null
}
