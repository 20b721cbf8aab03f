<?php
// WordPress as Debian ships it, on a database of its own: on the command line
// this installs it, in the server of PHP it answers each request.
define('ABSPATH', '/usr/share/wordpress/');
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:{dir}/maria.sock');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('WP_CONTENT_DIR', '{dir}/content');
// It asks for nothing outside, and starts nothing by itself.
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_DEBUG', false);
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $name) {
	define($name . '_KEY', 'x');
	define($name . '_SALT', 'x');
}
if (PHP_SAPI === 'cli') {
	define('WP_INSTALLING', true);
	$_SERVER['HTTP_HOST'] = 'localhost';
	$_SERVER['REQUEST_URI'] = '/';
	function wp_mail() { return true; }
}
// Its links begin with the address that it was asked by.
define('WP_HOME', 'http://' . $_SERVER['HTTP_HOST']);
define('WP_SITEURL', WP_HOME);
$_SERVER['PHP_SELF'] = $_SERVER['SCRIPT_NAME'] = '/index.php';
$table_prefix = 'wp_';
require ABSPATH . 'wp-settings.php';

if (PHP_SAPI === 'cli') {
	require ABSPATH . 'wp-admin/includes/upgrade.php';
	wp_install('e2e', 'admin', 'admin@example.test', true, '', 'unused');
	$wp_rewrite->set_permalink_structure('/%postname%/');
	flush_rewrite_rules(false);
	exit;
}
wp();
