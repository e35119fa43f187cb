/** Request that tries to occupy the server, to fill its memory or to break it. */
export type WorstRequest = {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}
