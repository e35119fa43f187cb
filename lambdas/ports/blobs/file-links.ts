/** Links to the files of exports. A link alone permits the download, so only the caller of the export receives it, and it expires. */

/**
 * `client`, `user`: required owner of access tokens sent with the link. Without `user`, tokens of every user of the client are accepted.
 */
export type ExportFile = { readonly job: string; readonly file: string; readonly client: string; readonly user?: string }

export interface ExportUrlSigner {
  /** Returns a link to the file. `expires`: milliseconds since 1970, cut to whole seconds. */
  sign(file: ExportFile, expires: number): Promise<string>
}
