/** Options that several commands share. Values are checked before the command opens anything. */
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { ServerLocation } from '../../lambdas/runtime/control/server-socket.ts'

/** Returns the URL without a trailing slash. Throws InvalidArgumentError if no path can be appended to it. */
export function parseBaseUrl(text: string): string {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) throw new InvalidArgumentError('A URL that begins with http:// or https://.')
  const { username, password } = new URL(text)
  if (/[?#\s]/.test(text) || username !== '' || password !== '')
    throw new InvalidArgumentError('A URL without a user, a query, a fragment or a space.')
  return text.replace(/\/+$/, '')
}

export const dataOption = (meaning: string): Option => new Option('--data <folder>', meaning).default('.data').argParser(parseFolder)

/** Rejects an empty name, which is usually an unset variable of a script. */
function parseFolder(folder: string): string {
  if (folder === '') throw new InvalidArgumentError('A folder has a name.')
  return folder
}

export const portOption = (): Option =>
  new Option('--port <number>', 'port of a server that was started with --memory').conflicts('data').argParser(parsePort)

export const sigv4Option = (): Option =>
  new Option(
    '--sigv4',
    'signs requests with your credentials of AWS, where a stage on AWS asks for that; the region is that of its address, or AWS_REGION',
  )

/** Options that select a server on this machine. `port`: port of a server that was started with --memory. */
export type ServerOptions = { readonly data: string; readonly port?: number }

export const serverLocationOf = ({ data, port }: ServerOptions): ServerLocation => (port === undefined ? { folder: data } : { port })

export function parsePort(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('A port is a number from 1 to 65535.')
  return Number(text)
}

/** Adds examples to the end of the command's help. */
export const withExamples = (command: Command, lines: readonly string[]): Command =>
  command.addHelpText('after', `\nFor example:\n${lines.map((line) => `  ${line}`).join('\n')}`)
