/** Links to the files of exports. Who has one may read the file: it is handed to whoever asked for the export, and ends. */

/** `client`: whose access tokens may come with the link; those of others are refused. */
export type ExportFile = { readonly job: string; readonly file: string; readonly client: string }

export interface ExportUrlSigner {
  /** `expires`: ms since 1970; whole seconds count. */
  sign(file: ExportFile, expires: number): Promise<string>
}
