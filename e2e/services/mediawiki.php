<?php
// Edits and deletes pages of a wiki: a list in JSON comes by standard input.
require_once '/usr/share/mediawiki/maintenance/Maintenance.php';

use MediaWiki\MediaWikiServices;

class Desk extends Maintenance {
	public function execute() {
		$services = MediaWikiServices::getInstance();
		$user = User::newSystemUser('Maintenance script', ['steal' => true]);
		$db = $this->getDB(DB_PRIMARY);
		$db->startAtomic(__METHOD__);
		foreach (json_decode(file_get_contents('php://stdin'), true) as $edit) {
			$title = Title::newFromText($edit['title']);
			$page = $services->getWikiPageFactory()->newFromTitle($title);
			$status = isset($edit['text'])
				? $page->doUserEditContent(ContentHandler::makeContent($edit['text'], $title), $user, 'edited', EDIT_INTERNAL)
				: $services->getDeletePageFactory()->newDeletePage($page, $user)->deleteUnsafe('deleted');
			if (!$status->isOK()) {
				$this->fatalError((string)$status);
			}
		}
		$db->endAtomic(__METHOD__);
	}
}

$maintClass = Desk::class;
require_once RUN_MAINTENANCE_IF_MAIN;
