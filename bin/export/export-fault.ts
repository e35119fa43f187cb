/** Why an export came to nothing. */

/**
 * `refused`: the server takes no such export, or hands something out no more; `failed`: it could not finish it; `unreachable`: nobody answers, or
 * only to say that it is busy; `mismatch`: a file is not what the manifest says.
 */
export type ExportFaultKind = 'refused' | 'failed' | 'unreachable' | 'mismatch'

export class ExportFault extends Error {
  readonly kind: ExportFaultKind
  /** Of the answer that refuses, where there is one. */
  readonly status: number | undefined

  constructor(kind: ExportFaultKind, message: string, { status, ...options }: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options)
    this.kind = kind
    this.status = status
  }
}
