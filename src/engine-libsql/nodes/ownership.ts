/** Which workspaces this node sweeps, and whose events it delivers. */
export interface Ownership {
  /**
   * Returns the workspaces among these that this node serves. It takes those that no node serves. Null when there are
   * no other nodes.
   */
  owned: ((workspaceIds: readonly string[]) => Promise<ReadonlySet<string>>) | null;
}

/** The ownership of a node that has not joined the others yet. */
export const nothingOwned: Ownership["owned"] = async () => new Set();
