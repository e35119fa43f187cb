/** Links to the files of exports. A link needs no access token, so only the caller of the export receives it, and it expires. */

/**
 * File of an export. `client`, `user`: if a request with the link sends an access token, the token must be theirs. Without `user`, tokens
 * of every user of the client are accepted.
 */
export type ExportFile = { readonly job: string; readonly file: string; readonly client: string; readonly user?: string }

export interface ExportUrlSigner {
  /** Returns a link to the file. `expires`: end of its validity in milliseconds since 1970, rounded down to seconds. */
  sign(file: ExportFile, expires: number): Promise<string>
}
