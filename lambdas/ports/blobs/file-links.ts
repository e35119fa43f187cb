/** Links to the files of exports. Who has one may read the file: it is handed to whoever asked for the export, and ends. */

/** `client`, `user`: access tokens sent with the link must be theirs. No `user`: tokens of every user of the client are accepted. */
export type ExportFile = { readonly job: string; readonly file: string; readonly client: string; readonly user?: string }

export interface ExportUrlSigner {
  /** `expires`: ms since 1970; whole seconds count. */
  sign(file: ExportFile, expires: number): Promise<string>
}
