/** Setting that copies daily backups into another account. lib/docs/restore.md says what that account needs. */

export type BackupSettings = {
  /** ARN of a vault of AWS Backup in another account, in which the copies are retained. */
  readonly vault: string
  /** Days for which a copy is retained. */
  readonly days: number
}

/** Days for which a backup stays within the account, so that a failed copy can be repeated. */
export const OWN_BACKUP_DAYS = 3

export const VAULT_ARN = /^arn:aws:backup:[a-z0-9-]+:(\d{12}):backup-vault:[A-Za-z0-9_-]{2,50}$/

/** Returns the account of the vault. */
export const vaultAccountOf = ({ vault }: BackupSettings): string => VAULT_ARN.exec(vault)![1]!
